import { startProcess } from "../../storage/start-process.ts";
import type { CliEnvironment } from "../environment.ts";
import { CliError } from "../errors.ts";

/**
 * The first line that the command prints. It runs in the system's shell, with the name of the service in
 * `CROFT_SERVICE`, and may prompt on standard error.
 * @throws CliError `invalid_credentials` when it fails or prints nothing
 */
export async function runTokenCommand(
  command: string,
  service: "forge" | "vault",
  cli: Pick<CliEnvironment, "system" | "signal">,
): Promise<string> {
  const { env } = cli.system;
  await using started = startProcess(command, [], {
    shell: true,
    env: { ...env, CROFT_SERVICE: service },
    stdio: ["ignore", "pipe", "inherit"],
    signal: cli.signal,
  });
  const chunks: Buffer[] = [];
  started.child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  const { exitCode: code, error } = await started.ended;
  if (error !== undefined) throw error;
  const token = Buffer.concat(chunks).toString("utf8").split(/\r?\n/)[0]?.trim() ?? "";
  if (code === 0 && token !== "") return token;
  const outcome = code === 0 ? "printed nothing" : `ended with ${code ?? "a signal"}`;
  throw new CliError("invalid_credentials", `the command of CROFT_TOKEN_COMMAND ${outcome}`, {
    service,
  });
}
