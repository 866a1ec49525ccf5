import { z } from "zod";
import { anyone, endpoint } from "../endpoint.ts";
import { apiError } from "./common.ts";

export const forgeVersion = endpoint({
  name: "forge.version.get",
  method: "GET",
  path: "/api/v1/version",
  summary: "Version of the forge API",
  gate: anyone,
  replies: { 200: z.object({ version: z.string() }), 401: apiError },
});

export const versionEndpoints = { forgeVersion };
