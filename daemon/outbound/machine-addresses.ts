import { networkInterfaces } from "node:os";

/** All addresses of this machine at the moment. */
export function machineAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((each) =>
    (each ?? []).map(({ address }) => address),
  );
}
