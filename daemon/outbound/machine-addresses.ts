import { networkInterfaces } from "node:os";

/** Returns the current addresses of this machine. */
export function machineAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((each) =>
    (each ?? []).map(({ address }) => address),
  );
}
