# fish completion for pprofdelta. The verbs and the options are read from the output of --help, so that
# they are those of the installed program. Only values are listed here.

function __pprofdelta_verbs
    $argv[1] --help 2>/dev/null | string replace -rf '^.* pprofdelta ([a-z]+) .*' '$1' | sort -u
end

# One line for each option: the option, a tab, its description in --help.
function __pprofdelta_options
    $argv --help 2>/dev/null | string replace -rf '^ +(?:-[a-z], )?(--[a-z][a-z-]*=?)\S*(?: [A-Z]\S*)? +([A-Za-z].*)$' '$1'\t'$2'
    echo --help\t'print this help'
    test (count $argv) -eq 1; and echo --version\t'print the version'
end

# Of an option of a verb.
function __pprofdelta_values
    switch $argv[1]
        case --on-reset
            printf '%s\n' auto restart clamp negative fail
        case --compress
            test "$argv[2]" = export; or echo gzip # whose files are Arrow's
            printf '%s\n' zstd none
        case --format
            printf '%s\n' pprof otlp otlp-parca otlp-plain
        case --for
            printf '%s\n' pyroscope parca otel pprof
        case --report
            printf '%s\n' text json
        case --status
            printf '%s\n' text json openmetrics
        case --default-type
            printf '%s\n' counter keep
        case --first
            printf '%s\n' full zero
        case --max-memory
            printf '%s\n' 512M 2G 8G
        case --type --counter --gauge -c -g
            printf '%s\n' alloc_objects alloc_space inuse_objects inuse_space peak_objects peak_space freed_objects freed_space contentions delay
    end
end

# The index of the first word of the command: that of record, or the uploader of --state. Prints nothing if
# the cursor is before it.
function __pprofdelta_command
    set -l verb $argv[1]
    set -l current $argv[2]
    set -l tokens $argv[3..-1]
    set -l with_value
    set -l i 2
    if test "$verb" = record
        set with_value -o (__pprofdelta_options $tokens[1] record | string replace -rf '^(--[a-z-]+)=.*' '$1')
        set i 3
    else if test -n "$verb"; or not string match -qr '^--state(=|$)' -- $tokens
        return
    end
    while test $i -le (count $tokens)
        set -l word $tokens[$i]
        if test "$word" = --
            math $i + 1
            return
        else if contains -- $word $with_value
            set i (math $i + 1)
        else if test "$verb" = record; and not string match -q -- '-*' $word
            echo $i
            return
        end
        set i (math $i + 1)
    end
    test "$verb" = record; and test $i -eq (math (count $tokens) + 1)
    and not string match -q -- '-*' $current; and echo $i
end

function __pprofdelta_complete
    set -l tokens (commandline -opc)
    set -l current (commandline -ct)
    set -l program $tokens[1]
    set -l verb
    if test (count $tokens) -gt 1; and contains -- $tokens[2] (__pprofdelta_verbs $program)
        set verb $tokens[2]
    end
    set -l command (__pprofdelta_command "$verb" "$current" $tokens)
    if test -n "$command"
        set -l words
        test $command -le (count $tokens); and set words (string escape -- $tokens[$command..-1])
        complete -C (string join ' ' -- $words $current)
        return
    end
    if string match -qr '^--[a-z-]+=' -- $current
        set -l option (string replace -r '=.*' '' -- $current)
        set -l values (__pprofdelta_values $option $verb)
        set -q values[1]; or set values (__fish_complete_path (string replace -r '^[^=]*=' '' -- $current))
        for value in $values
            echo $option=$value
        end
        return
    end
    set -l values (__pprofdelta_values $tokens[-1] $verb)
    if set -q values[1]; and not string match -q -- '-*' $current
        printf '%s\n' $values
        return
    end
    if string match -q -- '-*' $current
        __pprofdelta_options $program $verb
    else
        test (count $tokens) -eq 1; or test "$verb" = help; and __pprofdelta_verbs $program
        test "$verb" = help; or __fish_complete_path $current
    end
end

complete -c pprofdelta -f -a '(__pprofdelta_complete)'
