import { z } from "zod";
import { anyone, bytesOf, endpoint } from "../endpoint.ts";
import { apiError } from "./common.ts";

export const getLogo = endpoint({
  name: "forge.logos.get",
  method: "GET",
  path: "/assets/img/emoji/:file",
  summary: "The picture of an emoji that is not a character, such as :gitea:",
  gate: anyone,
  params: z.object({ file: z.string() }),
  replies: { 200: bytesOf("image/svg+xml"), 401: apiError, 404: apiError },
  apiOnly: "rendered text shows these pictures",
});

export const logoEndpoints = { getLogo };
