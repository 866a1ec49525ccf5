import type { ProviderCapabilities } from "../../storage/cloud/provider.ts";
import { createMemoryStorage, memoryCapabilities } from "../support/cloud/memory-provider.ts";
import { cloudProviderSuite, type CloudSubject } from "./cloud-provider.suite.ts";

// The double that other tests lean on keeps the contract, too, with two sets of capabilities that no local disk has.
const configurations: Record<string, ProviderCapabilities> = {
  "memory, stable ids": memoryCapabilities,
  "memory, few capabilities": {
    ...memoryCapabilities,
    trash: false,
    folderMove: false,
    caseSensitive: false,
    normalisationSensitive: false,
    quota: true,
  },
};

for (const [name, capabilities] of Object.entries(configurations))
  cloudProviderSuite(name, {
    capabilities,
    make: async () => makeSubject(capabilities),
    faults: ["cutNextBody"],
    withoutFaults: "a double in memory has no network",
  });

function makeSubject(capabilities: ProviderCapabilities): CloudSubject {
  const storage = createMemoryStorage(capabilities);
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
