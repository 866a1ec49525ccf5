import { createTransport, createTrust } from "../client/transport.ts";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { shape } from "../output/spec.ts";
import { version } from "../version.ts";
import { parseObject } from "../support/json.ts";
import { commandDetails } from "../tree/command.ts";

export const showVersion = commandDetails({
  flags: { "--check": "also look up the latest release at update_url" },
  output: shape({
    version: "string",
    node: "string",
    platform: "string",
    latest: "string?",
    is_latest: { type: ["boolean", "null"] },
    release_url: "string?",
  }),
  examples: [
    ["Print the version", "croft version"],
    ["Print the version of Node", "croft version --jq .node"],
  ],
  /** Prints the version of croft, of Node and of the platform; with `check` also the latest release. */
  async run(cli, { check = false }) {
    const { nodeVersion, platform } = cli.system;
    const info = { version, node: nodeVersion, platform };
    if (!check)
      return cli.output.text(`croft ${version}\n`, {
        ...info,
        latest: null,
        is_latest: null,
        release_url: null,
      });
    const { latest, url } = await readLatest(cli);
    const isLatest = compareVersions(version, latest) >= 0;
    const verdict = isLatest ? "is the latest release" : `is older than ${latest}: ${url ?? ""}`;
    await cli.output.text(`croft ${version} ${verdict.trim()}\n`, {
      ...info,
      latest,
      is_latest: isLatest,
      release_url: url,
    });
  },
});

/** Sends one GET request without any data about this home. @throws CliError `unsupported` without an address */
async function readLatest(
  cli: CliContext,
): Promise<{ readonly latest: string; readonly url: string | null }> {
  const { readAllSettings } = await import("../profile/settings.ts");
  const { updateUrl } = readAllSettings(cli.system, cli.flags, {}).settings;
  if (updateUrl === undefined)
    throw new CliError("unsupported", "no address for releases is set", {
      hint: "croft config set update_url https://HOST/api/v1/repos/OWNER/NAME/releases/latest",
    });
  try {
    return await readRelease(cli, updateUrl);
  } catch (error) {
    // The transport's messages are about the daemon, so they are replaced.
    if (cli.signal.aborted || (error instanceof CliError && error.code === "unexpected_answer"))
      throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new CliError("unexpected", `${updateUrl} is unreachable: ${reason}`, { cause: error });
  }
}

async function readRelease(
  cli: CliContext,
  updateUrl: string,
): Promise<{ readonly latest: string; readonly url: string | null }> {
  const transport = createTransport(cli.system, createTrust(cli));
  const answer = await transport.open({
    method: "GET",
    url: updateUrl,
    headers: { Accept: "application/json", "User-Agent": "croft-cli" },
    body: undefined,
    signal: AbortSignal.any([cli.signal, AbortSignal.timeout(ANSWER_MS)]),
  });
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer.stream) {
    length += (chunk as Buffer).byteLength;
    if (length > ANSWER_BYTES) {
      answer.stream.destroy();
      throw unexpected(updateUrl, `more than ${ANSWER_BYTES} bytes`);
    }
    chunks.push(chunk as Buffer);
  }
  if (answer.status !== 200) throw unexpected(updateUrl, `status ${answer.status}`);
  const release = toRelease(Buffer.concat(chunks).toString("utf8"));
  if (release === undefined) throw unexpected(updateUrl, "no tag_name with a version");
  return release;
}

const ANSWER_MS = 10_000;

const ANSWER_BYTES = 1024 * 1024;

function unexpected(url: string, problem: string): CliError {
  return new CliError("unexpected_answer", `${url} answered with ${problem}`);
}

function toRelease(
  text: string,
): { readonly latest: string; readonly url: string | null } | undefined {
  const { tag_name: tag, html_url: url } = parseObject(text) ?? {};
  const latest =
    typeof tag === "string" ? /^v?(\d+\.\d+\.\d+(?:-[\w.]+)?)$/.exec(tag)?.[1] : undefined;
  if (latest === undefined) return undefined;
  return { latest, url: typeof url === "string" && /^https?:/.test(url) ? url : null };
}

/** Compares versions by their numbers; a pre-release comes before its release. */
export function compareVersions(a: string, b: string): number {
  const [first, second] = [a, b].map((text) => {
    const [numbers = "", ...rest] = text.split("-");
    return { numbers: numbers.split(".").map(Number), isRelease: rest.length === 0 };
  });
  for (let index = 0; index < 3; index++) {
    const difference = (first?.numbers[index] ?? 0) - (second?.numbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return Number(first?.isRelease) - Number(second?.isRelease);
}
