import type { CommandModule } from "../../tree/entry.ts";
import { type CompletionRow, defineScript, flagValues, scriptOutput } from "./table.ts";

export const powershell = {
  operations: [],
  output: scriptOutput,
  define(command, cli): void {
    command.addHelpText(
      "after",
      "\nTo load it in every session, add this line to $PROFILE:\n" +
        "  croft completion powershell | Out-String | Invoke-Expression",
    );
    defineScript(command, cli, "powershell", toPowershellScript);
  },
} satisfies CommandModule;

/** A script that completes words. */
function toPowershellScript(rows: readonly CompletionRow[]): string {
  const table = rows.map(
    ({ path, words, flags, values }) =>
      `    ${quote(path)} = @{ Words = @(${words.map(({ word }) => quote(word)).join(", ")});` +
      ` Flags = @(${flags.map(({ word }) => quote(word)).join(", ")}); Kind = ${quote(values ?? "")} }`,
  );
  const fixed = Object.entries(flagValues).map(
    ([flag, values]) => `    ${quote(flag)} = @(${values.map(quote).join(", ")})`,
  );
  return `# PowerShell completion for croft
Register-ArgumentCompleter -Native -CommandName croft -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $table = @{
${table.join("\n")}
  }
  $fixed = @{
${fixed.join("\n")}
  }
  $typed = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($wordToComplete -ne '' -and $typed.Count -gt 0) { $typed = @($typed | Select-Object -SkipLast 1) }
  $path = ''
  foreach ($word in $typed) {
    if ($word -like '-*') { continue }
    $next = if ($path -eq '') { $word } else { "$path $word" }
    if ($table.ContainsKey($next)) { $path = $next }
  }
  # As it stands on the line, maybe in quotes.
  $typedWord = $wordToComplete.Trim("'", '"')
  $previous = if ($typed.Count -gt 0) { $typed[-1] } else { '' }
  $row = $table[$path]
  if ($fixed.ContainsKey($previous)) { $found = $fixed[$previous] }
  elseif ($previous -eq '--profile') { $found = croft __complete profiles 2>$null | ForEach-Object { ($_ -split "\`t")[0] } }
  elseif ($wordToComplete -like '-*') { $found = $row.Flags }
  elseif ($row.Words.Count -gt 0) { $found = $row.Words }
  elseif ($row.Kind -ne '' -and ($row.Kind -ne 'transfers' -or $typedWord.Contains(':'))) { $found = croft __complete ($row.Kind -replace 'transfers', 'items') $typedWord 2>$null | ForEach-Object { ($_ -split "\`t")[0] } }
  else { $found = @() }
  $found | Where-Object { $_.StartsWith($typedWord, 'OrdinalIgnoreCase') } | ForEach-Object {
    $text = if ($_ -match '[^\\w./:=@+-]') { "'" + $_.Replace("'", "''") + "'" } else { $_ }
    [System.Management.Automation.CompletionResult]::new($text, $_, 'ParameterValue', $_)
  }
}
`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
