import { z } from "zod";
import { resource } from "./resource.ts";
import { anyone } from "../endpoint.ts";

export const versionEndpoints = resource(
  {
    name: "forge.version",
    path: "/api/v1/version",
    shape: z.object({ version: z.string() }),
    gate: anyone,
  },
  ({ get }) => ({
    forgeVersion: get("Version of the forge API"),
  }),
);
