import type { Entry } from "../../tree/entry.ts";
import { type CompletionRow, scriptCommand, groupFlags, listValueFlags } from "./table.ts";

export const powershell = (commands: readonly Entry[]) =>
  scriptCommand(commands, {
    shell: "powershell",
    note: "To load it in every session, add this line to $PROFILE:\n  croft completion powershell | Out-String | Invoke-Expression",
    examples: [
      ["Print the script", "croft completion powershell"],
      ["Save it to a file", "croft completion powershell > croft.ps1"],
    ],
    toScript: toPowershellScript,
  });

/** A script that completes words. */
function toPowershellScript(rows: readonly CompletionRow[]): string {
  const table = rows.map(
    ({ path, words, flags, args, isVariadic }) =>
      `    ${quote(path)} = @{ Words = ${list(words.map(({ word }) => word))};` +
      ` Flags = ${list(flags.map(({ word }) => word))};` +
      ` Kinds = ${list(args)}; Repeated = $${String(isVariadic)} }`,
  );
  const fixed = groupFlags(rows).flatMap(({ value, flags }) =>
    flags.map((flag) => `  $fixed[${quote(flag)}] = ${value === "live" ? "$null" : list(value)}`),
  );
  return `# PowerShell completion for croft
Register-ArgumentCompleter -Native -CommandName croft -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $table = @{
${table.join("\n")}
  }
  # Values of flags; those that only croft can list are null. A literal would take -l and -L for the same key.
  $fixed = [System.Collections.Generic.Dictionary[string, object]]::new()
${fixed.join("\n")}
  $valued = ${list(listValueFlags(rows))}
  $typed = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { "$_" } })
  if ($wordToComplete -ne '' -and $typed.Count -gt 0) { $typed = @($typed | Select-Object -SkipLast 1) }
  $path = ''
  $flag = ''
  $count = 0
  foreach ($word in $typed) {
    if ($flag -ne '') { $flag = ''; continue }
    if ($valued -ccontains $word) { $flag = $word; continue }
    if ($word -like '-?*') { continue }
    $next = if ($path -eq '') { $word } else { "$path $word" }
    if ($table.ContainsKey($next)) { $path = $next } else { $count++ }
  }
  # As it stands on the line, maybe in quotes.
  $typedWord = $wordToComplete.Trim("'", '"')
  # --flag=value is the flag and its value.
  $stem = ''
  if ($flag -eq '' -and $typedWord -match '^(--[^=]+)=(.*)$' -and $valued -ccontains $Matches[1]) {
    $flag = $Matches[1]
    $typedWord = $Matches[2]
    $stem = "$flag="
    $typed = @($typed) + $flag
  }
  $ask = {
    # An empty argument would get lost on the way; croft reads two quotes as one.
    $last = if ($typedWord -eq '') { '""' } else { $typedWord }
    # In quotes: a script croft.ps1, as npm makes, would lose the bare one.
    croft __complete '--' @typed $last 2>$null | ForEach-Object { ($_ -split "\`t")[0] }
  }
  $row = $table[$path]
  $found = @()
  if ($flag -ne '') {
    $key = "$path $flag"
    if ($flag -eq '--profile' -or ($fixed.ContainsKey($key) -and $null -eq $fixed[$key])) { $found = & $ask }
    elseif ($fixed.ContainsKey($key)) { $found = $fixed[$key] }
  }
  elseif ($wordToComplete -like '-*') { $found = $row.Flags }
  elseif ($row.Words.Count -gt 0) { $found = $row.Words }
  elseif ($row.Kinds.Count -gt 0) {
    if ($row.Repeated -and $count -ge $row.Kinds.Count) { $count = $row.Kinds.Count - 1 }
    $kind = if ($count -lt $row.Kinds.Count) { $row.Kinds[$count] } else { 'none' }
    if ($kind -eq 'live' -or ($kind -eq 'transfers' -and $typedWord.Contains(':'))) { $found = & $ask }
  }
  $found | Where-Object { $_.StartsWith($typedWord, 'OrdinalIgnoreCase') } | ForEach-Object {
    $text = $stem + $(if ($_ -match '[^\\w./:=@+-]') { "'" + $_.Replace("'", "''") + "'" } else { $_ })
    [System.Management.Automation.CompletionResult]::new($text, $_, 'ParameterValue', $_)
  }
}
`;
}

function list(words: readonly string[]): string {
  return `@(${words.map(quote).join(", ")})`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
