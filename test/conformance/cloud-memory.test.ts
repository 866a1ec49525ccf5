import type { Powers } from "../../storage/cloud/provider.ts";
import { createMemoryStorage, memoryPowers } from "../support/cloud/memory-provider.ts";
import { cloudProviderSuite, type CloudSubject } from "./cloud-provider.suite.ts";

// The double that other tests lean on keeps the contract, too, in two sets of powers that no local disk has.
const configurations: Record<string, Powers> = {
  "memory, stable ids": memoryPowers,
  "memory, few powers": {
    ...memoryPowers,
    trash: false,
    folderMove: false,
    caseSensitive: false,
    normalisationSensitive: false,
    quota: true,
  },
};

for (const [name, can] of Object.entries(configurations))
  cloudProviderSuite(name, {
    can,
    make: async () => makeSubject(can),
    faults: ["cutNextBody"],
    withoutFaults: "a double in memory has no network",
  });

function makeSubject(can: Powers): CloudSubject {
  const storage = createMemoryStorage(can);
  return {
    provider: storage.connect(),
    other: storage.connect(),
    overwrite: async (id, bytes) => storage.overwrite(id, bytes),
    leftovers: async () => [],
    restoreLast: async () => storage.restoreLast(),
    faults: { cutNextBody: (afterBytes) => storage.cut(afterBytes), clear: () => undefined },
    [Symbol.asyncDispose]: async () => undefined,
  };
}
