# SPDX-License-Identifier: MIT
# Completion of memtop for fish. memtop itself knows the candidates: see tui/cli/base/complete.h.

function __memtop_candidates
    set -l before (commandline -opc)
    set -l typed (commandline -ct)
    # without its quotes and backslashes; the last quote may be open
    set -l plain (string unescape -- "$typed"; or string replace -r -- '^["\']' '' "$typed")
    set typed "$plain"
    set -l option (string match -r -- '^--[^=]*=' "$typed") # its value is what fish lists
    set -l value (string replace -r -- '^--[^=]*=' '' "$typed")
    for line in ($before[1] --complete (math (count $before) - 1) $before[2..-1] "$typed" 2>/dev/null)
        switch $line
            case \tfile
                __fish_complete_path "$value" | string replace -r -- '^' "$option"
            case \tfolder
                __fish_complete_directories "$value" | string replace -r -- '^' "$option"
            case \tcommand\ \*
                set -l number (string split ' ' -- $line)[2]
                complete -C (string join ' ' -- (string escape -- $before[(math $number + 2)..-1]) "$typed")
            case '*'
                printf '%s\n' $line
        end
    end
end

complete -c memtop -f -a '(__memtop_candidates)'
