import { z } from "zod";
import { resource } from "./resource.ts";
import { anyone, bytesOf } from "../endpoint.ts";

export const logoEndpoints = resource(
  {
    name: "forge.logos",
    path: "/assets/img/emoji/:file",
    params: z.object({ file: z.string() }),
    gate: anyone,
  },
  ({ operation }) => ({
    getLogo: operation({
      as: "get",
      method: "GET",
      summary: "The picture of an emoji that is not a character, such as :gitea:",
      replies: { 200: bytesOf("image/svg+xml") },
      apiOnly: "rendered text shows these pictures",
    }),
  }),
);
