# SPDX-License-Identifier: Apache-2.0
# Completion of `fluss` in bash: commands, and the options of each, out of what `fluss help` says.
_fluss()
{
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} words
    if ((COMP_CWORD == 1)) || { ((COMP_CWORD == 2)) && [[ ${COMP_WORDS[1]} == help ]]; }; then
        words="help $("$program" help 2>/dev/null | sed -n 's/^  \([a-z-]*\) .*/\1/p')"
    elif [[ $word == -* ]]; then
        words=$("$program" help "${COMP_WORDS[1]}" 2>/dev/null |
            sed -n 's/^ *\(-[a-zA-Z], \)\{0,1\}\(--[a-z-]*\).*/\2/p')
    else
        return # the name of a file, perhaps
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _fluss fluss
