import { shape } from "../../output/spec.ts";
import { commandDetails } from "../../tree/command.ts";
import type { Example } from "../../tree/entry.ts";

// Each script hands the words of the line over to `croft __complete` and offers its answer: lines of a value, a tab and a
// description, and a last line "<tab>files" where names of local files may follow, too.

export type Shell = "bash" | "zsh" | "fish" | "powershell";

/** `@{` stands for `${` and `@'` for a backtick. */
const toText = (text: string): string => text.replaceAll("@{", "${").replaceAll("@'", "`");

const bash = toText(String.raw`# bash completion for croft
# What the shell would make of a typed word: without its quotes and backslashes, and nothing expanded.
_croft_plain() {
  case $1 in
  [\"\']*)
    plain=@{1:1}
    plain=@{plain%"@{1:0:1}"}
    ;;
  *) IFS= read plain <<<"$1" ;; # without -r: takes the backslashes away as the shell does
  esac
}
_croft() {
  local cur flag="" stem="" word value plain quote="" index
  local -a line=() before=()
  COMPREPLY=()
  compopt +o default 2>/dev/null
  # bash takes words apart at their colons and equals signs: CONNECTION:/path is one word.
  for ((index = 1; index <= COMP_CWORD; index++)); do
    word=@{COMP_WORDS[index]}
    if ((index > 1)) && [[ $word == [:=]* || @{COMP_WORDS[index-1]} == *[:=] ]]; then
      line[@{#line[@]}-1]+=$word
    else
      line+=("$word")
    fi
  done
  cur=@{line[@{#line[@]}-1]}
  [[ $cur == --*=* ]] && flag=@{cur%%=*}= cur=@{cur#*=}
  for word in "@{line[@]:0:@{#line[@]}-1}"; do
    _croft_plain "$word"
    before+=("$plain")
  done
  _croft_plain "$cur"
  # A word whose quotes are closed is completed as one without them.
  case $cur in
  \"?*\" | \'?*\') quote=closed ;;
  [\"\']*) quote=@{cur:0:1} ;;
  esac
  # Where readline ends words at equals signs and colons, what stands before the last one is on the line already.
  [[ $COMP_WORDBREAKS == *=* ]] || stem=$flag
  word=""
  if [[ -z $quote ]]; then
    [[ $cur == *=* && $COMP_WORDBREAKS == *=* ]] && word=@{cur%"@{cur##*=}"}
    [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]] && value=@{cur%"@{cur##*:}"} && ((@{#value} > @{#word})) && word=$value
  fi
  while IFS= read -r value; do
    if [[ $value == $'\t'files ]]; then
      if [[ -n $stem ]]; then
        while IFS= read -r value; do
          printf -v value %q "$value"
          COMPREPLY+=("$stem$value")
        done < <(compgen -f -- "$cur")
      else
        compopt -o default 2>/dev/null
      fi
      continue
    fi
    # Values are read, not expanded: names come from elsewhere.
    value=@{value%%$'\t'*}
    value=@{value#"$flag"}
    case $quote in
    \") value=@{value//\\/\\\\} value=@{value//\"/\\\"} value=@{value//\$/\\\$} value=@{value//\@'/\\\@'} ;;
    \') value=@{value//\'/\'\\\'\'} ;;
    *) printf -v value %q "$value" ;;
    esac
    value=@{value#"$word"}
    COMPREPLY+=("$stem$value")
  done < <(croft __complete -- "@{before[@]}" "$flag$plain" 2>/dev/null)
  # More of the same name follows.
  [[ @{#COMPREPLY[@]} == 1 && @{COMPREPLY[0]} == *[/#] ]] && compopt -o nospace 2>/dev/null
}
complete -o default -F _croft croft
`);

const zsh = toText(String.raw`#compdef croft
_croft() {
  local typed=$PREFIX line value shown files=""
  local -a whole shown_whole open shown_open
  # In quotes nothing but the quote itself is quoted.
  [[ -z $QIPREFIX ]] && typed=@{(Q)PREFIX}
  for line in "@{(@f)$(croft __complete -- "@{(@Q)words[2,CURRENT-1]}" "$typed" 2>/dev/null)}"; do
    value=@{line%%$'\t'*}
    if [[ $line == $'\t'files ]]; then
      files=1
    elif [[ -n $value ]]; then
      shown=$value
      [[ $line == *$'\t'?* ]] && shown="@{(r:24:)value} -- @{line#*$'\t'}"
      [[ @{#value} -gt 24 && $shown != $value ]] && shown="$value -- @{line#*$'\t'}"
      # More of the same name follows a slash.
      if [[ $value == *[/#] ]]; then
        open+=("$value") shown_open+=("$shown")
      else
        whole+=("$value") shown_whole+=("$shown")
      fi
    fi
  done
  (( @{#open} )) && compadd -S '' -l -d shown_open -- $open
  (( @{#whole} )) && compadd -l -d shown_whole -- $whole
  if [[ -n $files ]]; then
    compset -P '--*='
    _files
  fi
}
if [[ $funcstack[1] == _croft ]]; then _croft "$@"; else compdef _croft croft; fi
`);

const fish = String.raw`# fish completion for croft
function __croft_complete
  set -l before (commandline -opc)
  set -l token (commandline -ct)
  # In quotes that are still open.
  set -l typed (string unescape -- $token; or string unescape -- $token'"'; or string unescape -- $token"'")
  for line in (croft __complete -- $before[2..] "$typed" 2>/dev/null)
    if test "$line" = \tfiles
      # fish replaces the flag of --flag=value, too.
      set -l flag (string match -r -- '^--[^=]*=' $token)
      __fish_complete_path (string replace -- "$flag" '' $token) | string replace -r -- '^' "$flag"
    else
      printf '%s\n' $line
    end
  end
end
complete -c croft -f -a '(__croft_complete)'
`;

const powershell = toText(String.raw`# PowerShell completion for croft
Register-ArgumentCompleter -Native -CommandName croft -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $before = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { "$_" } })
  if ($wordToComplete -ne '' -and $before.Count -gt 0) { $before = @($before | Select-Object -SkipLast 1) }
  # Takes quotes and backticks away as PowerShell does: also quotes behind --flag=, and those that are still open.
  $typed = [regex]::Replace($wordToComplete, '''((?:[^'']|'''')*)(?:''|$)|"((?:[^"@']|""|@'.)*)(?:"|$)|@'(.)', {
    param($found)
    if ($found.Value[0] -eq "'") { $found.Groups[1].Value.Replace("''", "'") }
    elseif ($found.Value[0] -eq '"') { $found.Groups[2].Value -replace '""', '"' -replace '@'(.)', '$1' }
    else { $found.Groups[3].Value }
  })
  # An empty argument would get lost on the way; croft reads two quotes as one.
  $last = if ($typed -eq '') { '""' } else { $typed }
  # In quotes: a script croft.ps1, as npm makes, would lose the bare one.
  croft __complete '--' @before $last 2>$null | ForEach-Object {
    $value, $description = $_ -split "@'t", 2
    if ($value -ne '') {
      $text = if ($value -match '[^\w./:=@+-]') { "'" + $value.Replace("'", "''") + "'" } else { $value }
      $tip = if ($description) { $description } else { $value }
      [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $tip)
    }
    elseif ($description -eq 'files') {
      # PowerShell replaces the flag of --flag=value, too.
      $flag = if ($typed -match '^--[^=]+=') { $Matches[0] } else { '' }
      [System.Management.Automation.CompletionCompleters]::CompleteFilename($typed.Substring($flag.Length)) | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($flag + $_.CompletionText, $_.ListItemText, $_.ResultType, $_.ToolTip)
      }
    }
  }
}
`);

/** The completion script of each shell. */
export const completionScripts: Readonly<Record<Shell, string>> = { bash, zsh, fish, powershell };

interface Guide {
  /** How to load the script. */
  readonly note: string;
  readonly examples: readonly Example[];
}

const guides: Readonly<Record<Shell, Guide>> = {
  bash: {
    note: 'To load it in every session: eval "$(croft completion bash)"',
    examples: [
      ["Load completion in this shell", "croft completion bash"],
      ["Install it for your user", "croft completion bash > croft.bash"],
    ],
  },
  zsh: {
    note: 'To load it in every session: croft completion zsh > "${fpath[1]}/_croft"',
    examples: [
      ["Print the script", "croft completion zsh"],
      ["Install it into a folder of fpath", "croft completion zsh > _croft"],
    ],
  },
  fish: {
    note: "To load it in every session: croft completion fish > ~/.config/fish/completions/croft.fish",
    examples: [
      ["Print the script", "croft completion fish"],
      ["Install it for your user", "croft completion fish > croft.fish"],
    ],
  },
  powershell: {
    note: "To load it in every session, add this line to $PROFILE:\n  croft completion powershell | Out-String | Invoke-Expression",
    examples: [
      ["Print the script", "croft completion powershell"],
      ["Save it to a file", "croft completion powershell > croft.ps1"],
    ],
  },
};

/** Prints the completion script of a shell. */
export const printScript = (shell: Shell) =>
  commandDetails({
    ...guides[shell],
    output: shape({ shell: "string", script: "string" }),
    async run(cli) {
      const script = completionScripts[shell];
      await cli.output.text(script, { shell, script });
    },
  });
