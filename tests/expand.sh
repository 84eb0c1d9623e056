# Sourced by tests that walk a list: comments and empty lines dropped, {a,b} replaced by each choice, every combination
# on a line of its own.
expand_line() {
  case $1 in
  *'{'*'}'*)
    before=${1%%'{'*} rest=${1#*'{'}
    for choice in $(printf '%s' "${rest%%'}'*}" | tr ',' ' '); do printf '%s%s%s\n' "$before" "$choice" "${rest#*'}'}"; done |
      while read -r line; do expand_line "$line"; done
    ;;
  *) printf '%s\n' "$1" ;;
  esac
}

# expand_list FILE
expand_list() {
  sed -e 's/ *#.*//' -e '/^$/d' "$1" | while read -r line; do expand_line "$line"; done
}
