# What cli.sh and run.sh share; sourced, with $work set.
failed=0

# expect CODE PATTERN COMMAND...: the exit code, and a fixed string somewhere in stdout or stderr ('' = any)
expect() {
  want=$1 pattern=$2
  shift 2
  "$@" >"$work/out" 2>&1 </dev/null
  code=$?
  if [ $code -ne "$want" ]; then
    echo "FAIL exit code $code, expected $want: $*"
    sed 's/^/    /' "$work/out" | tail -20
    failed=1
  elif [ -n "$pattern" ] && ! grep -qF -- "$pattern" "$work/out"; then
    echo "FAIL '$pattern' is not in the output of: $*"
    sed 's/^/    /' "$work/out" | tail -20
    failed=1
  fi
}

# that CONDITION WORDS...
that() {
  if ! eval "$1"; then
    echo "FAIL $2"
    failed=1
  fi
}
