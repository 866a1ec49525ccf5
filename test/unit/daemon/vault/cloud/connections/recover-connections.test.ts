import { expect, test } from "vitest";
import type { CloudProviderType } from "../../../../../../storage/cloud/provider.ts";
import { createMemoryStorage } from "../../../../../support/cloud/memory-provider.ts";
import { openTestCloud } from "../../../../../support/cloud/vault-cloud.ts";

test("connections whose storages can hold remains are recovered, also after one that fails", async () => {
  const recovered: string[] = [];
  const plain = createMemoryStorage().type;
  const recovering = (type: string, recover: () => Promise<void>): CloudProviderType => ({
    ...plain,
    type,
    recovers: true,
    async connect(request, deps) {
      const outcome = await plain.connect(request, deps);
      return outcome.kind === "ok"
        ? { ...outcome, provider: { ...outcome.provider, recover } }
        : outcome;
    },
  });
  const failing = recovering("failing", async () => {
    recovered.push("failing");
    throw new Error("the server is broken");
  });
  const working = recovering("working", async () => void recovered.push("working"));
  await using t = await openTestCloud({ providerTypes: [failing, working, plain] });
  for (const handle of ["mira", "noor"]) {
    const person = await t.addUser(handle);
    for (const { type } of [failing, working, plain])
      await t.cloud.connections.create(person, {
        provider: type,
        display_name: type,
        settings: {},
        credentials: {},
      });
  }
  await t.cloud.recover();
  expect(recovered.toSorted()).toEqual(["failing", "failing", "working", "working"]);
});
