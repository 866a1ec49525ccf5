import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clientEnvironment } from "./git-client.ts";

/** A plain git server over HTTP, which serves whatever its repository holds. */
export interface GitServer extends AsyncDisposable {
  readonly url: string;
  /** Runs git in the repository; returns its output. */
  run(args: readonly string[], input?: string): Promise<string>;
}

/**
 * Starts one with an empty repository at every address. `intercept` may answer a request itself and returns whether it did.
 */
export async function startGitServer(
  intercept: (
    request: IncomingMessage,
    response: ServerResponse,
  ) => boolean | Promise<boolean> = () => false,
): Promise<GitServer> {
  const folder = await mkdtemp(join(tmpdir(), "croft-git-server-"));
  const env = clientEnvironment(folder);
  const directory = join(folder, "repository.git");
  const run = (cwd: string, args: readonly string[], input = "") =>
    new Promise<string>((resolve, reject) => {
      const child = execFile("git", args, { cwd, env }, (error, output) =>
        error === null ? resolve(output) : reject(error),
      );
      child.stdin?.on("error", () => undefined).end(input);
    });
  await run(folder, ["init", "-q", "--bare", "-b", "main", directory]);
  const server = createServer(async (request, response) => {
    if (await intercept(request, response)) return;
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    const isListing = pathname.endsWith("/info/refs");
    const service = isListing ? searchParams.get("service") : pathname.split("/").at(-1);
    if (service !== "git-upload-pack") {
      response.writeHead(404).end();
      return;
    }
    const kind = isListing ? "advertisement" : "result";
    response.writeHead(200, { "content-type": `application/x-${service}-${kind}` });
    if (isListing) response.write("001e# service=git-upload-pack\n0000");
    const args = ["upload-pack", "--stateless-rpc", ...(isListing ? ["--advertise-refs"] : [])];
    const child = spawn("git", [...args, directory], { env, stdio: ["pipe", "pipe", "ignore"] });
    child.stdin.on("error", () => undefined);
    request.pipe(child.stdin);
    child.stdout.pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    run: (args, input) => run(directory, args, input),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true });
    },
  };
}
