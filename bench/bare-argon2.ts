import { availableParallelism } from "node:os";
import { argon2id, hash, verify } from "argon2";

// The least that a sign-in can cost: one check of a password, as many at once as there are cores.
const cost = { type: argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
const stored = await hash("Correct-Horse-7-Battery", cost);

console.log("ready");
process.on("message", (seconds: number) => {
  void count(seconds).then((rate) => process.send?.(rate));
});
process.once("SIGTERM", () => process.exit(0));

/** Checks a second. */
async function count(seconds: number): Promise<number> {
  const begun = performance.now();
  const until = begun + seconds * 1000;
  let checks = 0;
  const worker = async () => {
    while (performance.now() < until) {
      await verify(stored, "Correct-Horse-7-Battery");
      checks += 1;
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return checks / ((performance.now() - begun) / 1000);
}
