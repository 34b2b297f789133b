# bash completion for pprofdelta. The verbs and the options are read from the output of --help, so that
# they are those of the installed program. Only values are listed here.

_pprofdelta_verbs() {
    "$1" --help 2>/dev/null | sed -n 's/^.* pprofdelta \([a-z][a-z]*\) .*/\1/p' | sort -u
}

# The long options of the program or of a verb, with a '=' after those that are written with one.
_pprofdelta_options() {
    "$@" --help 2>/dev/null | grep -E '^ +-' | grep -oE -- '--[a-z][a-z-]*=?' | sort -u
}

# Of an option of a verb.
_pprofdelta_values() {
    case $1 in
    --on-reset) echo auto restart clamp negative fail ;;
    --compress)
        [[ $2 == export ]] || echo gzip # whose files are Arrow's
        echo zstd none
        ;;
    --format) echo pprof otlp otlp-parca otlp-plain ;;
    --for) echo pyroscope parca otel pprof ;;
    --report) echo text json ;;
    --status) echo text json openmetrics ;;
    --default-type) echo counter keep ;;
    --first) echo full zero ;;
    --max-memory) echo 512M 2G 8G ;;
    --type | --counter | --gauge | -c | -g)
        echo alloc_objects alloc_space inuse_objects inuse_space peak_objects peak_space freed_objects freed_space contentions delay ;;
    esac
}

# The index in COMP_WORDS of the first word of the command: that of record, or the uploader of --state.
# Prints nothing if the cursor is before it.
_pprofdelta_command() {
    local program=$1 verb=$2 i=1 word takes_value
    local -a with_value=()
    if [[ $verb == record ]]; then
        mapfile -t with_value < <(_pprofdelta_options "$program" record | sed -n 's/=$//p')
        i=2
    elif [[ -n $verb || " ${COMP_WORDS[*]:0:COMP_CWORD} " != *" --state"[\ =]* ]]; then
        return
    fi
    for (( ; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        takes_value=" -o ${with_value[*]} "
        if [[ $word == -- ]]; then
            echo $((i + 1))
            return
        elif [[ $verb == record && $word == = ]]; then
            i=$((i + 1))
        elif [[ $verb == record && $takes_value == *" $word "* && ${COMP_WORDS[i + 1]} != = ]]; then
            i=$((i + 1))
        elif [[ $verb == record && $word != -* ]]; then
            echo "$i"
            return
        fi
    done
    [[ $verb != record || $i -gt $COMP_CWORD || ${COMP_WORDS[COMP_CWORD]} == [-=]* ]] || echo "$i"
}

# Completes the command that begins at that word.
_pprofdelta_complete_command() {
    local first=$1 cur=${COMP_WORDS[COMP_CWORD]}
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$first"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$first"
    elif [[ $first -eq $COMP_CWORD ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur" | sort -u)
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        compopt -o filenames 2>/dev/null
    fi
}

_pprofdelta() {
    local program=${COMP_WORDS[0]/#\~/$HOME} cur=${COMP_WORDS[COMP_CWORD]} option='' verb='' values
    local before=${COMP_WORDS[COMP_CWORD - 1]} command
    COMPREPLY=()
    if [[ $COMP_CWORD -gt 1 && ${COMP_WORDS[1]} == [a-z]* ]] &&
        _pprofdelta_verbs "$program" | grep -qxF -- "${COMP_WORDS[1]}"; then
        verb=${COMP_WORDS[1]}
    fi
    command=$(_pprofdelta_command "$program" "$verb")
    if [[ -n $command ]]; then
        _pprofdelta_complete_command "$command"
        return
    fi
    if [[ $cur == = ]]; then # '=' parts words, so --compress=z is three of them
        option=$before cur=''
    elif [[ $before == = && COMP_CWORD -ge 2 ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    elif [[ $before == -[cg] || $before == --* ]]; then
        option=$before
    fi
    values=$(_pprofdelta_values "$option" "$verb")
    if [[ -n $values && $cur != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$cur")
        return
    fi
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_pprofdelta_options "$program" ${verb:+"$verb"})" -- "$cur")
        [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    elif [[ $verb == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_pprofdelta_verbs "$program")" -- "$cur")
    else
        [[ $COMP_CWORD -ne 1 ]] || mapfile -t COMPREPLY < <(compgen -W "$(_pprofdelta_verbs "$program")" -- "$cur")
        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur")
        compopt -o filenames 2>/dev/null
    fi
    return 0
}

complete -F _pprofdelta pprofdelta
