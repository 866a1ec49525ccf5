import { once } from "node:events";
import ssh2 from "ssh2";
import { expect, onTestFinished, test } from "vitest";
import { createSshServer } from "../../../../../../daemon/forge/git/ssh/ssh-server.ts";

test("a shell whose caller cannot be looked up gets a reason, and the next connection is served", async () => {
  const logged: string[] = [];
  const note = (_fields: unknown, message: string) => void logged.push(message);
  const keys = { host: generateKey(), own: generateKey() };
  const server = createSshServer({
    hostKeys: [keys.host],
    ident: "croft-test",
    authentication: {
      knows: async () => true,
      findCaller: () => Promise.reject(new Error("the database is busy")),
    },
    transfers: {},
    addressKey: (address: string) => address,
    countConnection: async () => true,
    idleMs: 60_000,
    log: { debug: note, error: note },
  } as never);
  const port = await server.listen("127.0.0.1", 0);
  onTestFinished(() => server.stop(0));
  for (let connections = 1; connections <= 2; connections += 1) {
    expect(await openShell(port, keys.own)).toEqual({
      exitCode: 1,
      errors: "croft: the server could not serve the session, try again in a moment\n",
    });
    expect(logged.filter((message) => message === "an SSH session failed")).toHaveLength(
      connections,
    );
  }
});

const generateKey = () => ssh2.utils.generateKeyPairSync("ed25519").private;

/** Opens a session without a command, as `ssh -T` does. */
async function openShell(port: number, privateKey: string) {
  const client = new ssh2.Client();
  client.connect({ host: "127.0.0.1", port, username: "git", privateKey });
  await once(client, "ready");
  // Listens at once: the answer may come with the opened channel.
  const answer = await new Promise((resolve, reject) => {
    client.shell(false, (error, channel) => {
      if (error) return reject(error);
      let errors = "";
      let exitCode: number | null = null;
      channel.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
      channel.on("exit", (code: number | null) => (exitCode = code));
      channel.on("close", () => resolve({ exitCode, errors }));
      channel.resume();
    });
  });
  client.end();
  return answer;
}
