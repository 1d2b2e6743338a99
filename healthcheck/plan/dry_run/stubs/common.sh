name=${0##*/}
record() {
    kind=$1
    shift
    slot=@KIT@/records/$$.$name
    while [ -e "$slot" ]; do slot=$slot+; done
    here=$(pwd -P)
    printf '%s\0' "$kind" "$$" "$here" "$name" "$@" >"$slot" 2>/dev/null
    : >"$slot.done"
} 2>/dev/null
