import { CliError, DryRun } from "../errors.ts";
import { shape } from "../output/spec.ts";
import { toDaemonFailure } from "../support/daemon-failures.ts";
import type { Entry } from "../tree/entry.ts";
import { version } from "../version.ts";
import { command } from "../tree/command.ts";

export const entries: readonly Entry[] = [
  command("rotate", "Rotate the master key", {
    flags: { "--skip-unreadable": "skip values that the old key cannot open instead of failing" },
    output: shape({
      rotated: "boolean",
      resumed: "boolean",
      source: "string",
      sealed_again: "integer",
      left_unreadable: { type: "array", items: { type: "string" } },
      data: "string",
    }),
    writes: true,
    destructive: true,
    examples: [
      ["Rotate the master key, while the daemon is stopped", "croft key rotate --yes"],
      ["Leave values that cannot be decrypted", "croft key rotate --skip-unreadable --yes"],
    ],
    /**
     * Rotates this home's master key: reseals everything under a new key. No daemon may run on the home. Sessions stay
     * valid; mailed reset links become invalid. Prints no key.
     * @throws CliError `already_running`; `not_found` without a home; `missing_input` when the key must come from the
     * environment
     */
    async run(cli, { skipUnreadable }) {
      const options = { skipUnreadable: skipUnreadable === true };

      const { readAllSettings } = await import("../profile/settings.ts");
      const { settings, paths } = readAllSettings(cli.system, cli.flags, {});
      const data = paths.dataDirectory;
      if (cli.flags.dryRun) throw new DryRun({ rotate_key: { data } });
      await cli.prompts.confirm(`Rotate the master key of ${data}?`);
      const { rotateKey } = await import("../../daemon/main.ts");
      const { pid, userId, stderr, processMark } = cli.system;
      const process = { pid, mark: processMark(pid), userId };
      const outcome = await rotateKey(
        { settings, paths, version, clock: cli.clock, process, logTo: stderr },
        options,
      ).catch((error: unknown) => {
        const failure = toDaemonFailure(error, {
          conflict: "already_running",
          not_found: "not_found",
        });
        throw failure instanceof CliError && failure.code === "not_found"
          ? new CliError("not_found", failure.message, { hint: '"croft init" makes a home' })
          : failure;
      });
      switch (outcome.kind) {
        case "key_needed":
          throw new CliError("missing_input", "the master key comes from CROFT_MASTER_KEY", {
            hint: environmentSteps,
          });
        case "unreadable":
          throw new CliError("storage_unusable", toUnreadableText(outcome.values), {
            hint: "nothing was changed; --skip-unreadable continues without them: each must be entered again in any case",
          });
        case "rotated": {
          const { isResumed, source, sealedAgain, leftUnreadable } = outcome;
          await cli.output.done(
            {
              rotated: true,
              resumed: isResumed,
              source,
              sealed_again: sealedAgain,
              left_unreadable: leftUnreadable,
              data,
            },
            toText(isResumed, sealedAgain),
          );
          for (const note of toNotes(outcome)) cli.io.note(note);
        }
      }
    },
  }),
];

/**
 * A key that exists only in the shell's environment would be lost with the shell, and with it all sealed data. So the
 * first step stores it.
 */
const environmentSteps =
  "create a new key (openssl rand -hex 32), store it where the daemon's comes from (CROFT_MASTER_KEY, or the file of " +
  'CROFT_MASTER_KEY_FILE) before the old one and a comma, and give this command both: "croft key rotate" again seals ' +
  "everything with the first. Then remove the old one";

function toText(isResumed: boolean, sealedAgain: number): string {
  const counted = sealedAgain === 1 ? "1 value is" : `${sealedAgain} values are`;
  return isResumed
    ? `Completed the interrupted rotation: ${counted} sealed again; the old key is no longer used.`
    : `Rotated the master key: ${counted} sealed with the new one; the old one is no longer used.`;
}

function toNotes(outcome: {
  readonly source: string;
  readonly isResumed: boolean;
  readonly leftUnreadable: readonly string[];
}): string[] {
  return [
    "Sign-ins stay. Password reset links that were mailed before are now invalid.",
    ...(outcome.source === "environment"
      ? ["Remove the old key from CROFT_MASTER_KEY: only the first is used."]
      : []),
    ...(outcome.isResumed && outcome.source !== "environment"
      ? ["No new key was created; run the command again to rotate."]
      : []),
    ...outcome.leftUnreadable.map((value) => `Skipped, because it cannot be opened: ${value}`),
  ];
}

function toUnreadableText(values: readonly string[]): string {
  const shown = values.slice(0, 5).join(", ");
  const more = values.length > 5 ? ` and ${values.length - 5} more` : "";
  return `some values cannot be opened with the master key: ${shown}${more}`;
}
