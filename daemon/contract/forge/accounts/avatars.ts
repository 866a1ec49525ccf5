import { z } from "zod";
import { anyone, bytesOf, endpoint } from "../../endpoint.ts";
import { apiError } from "../common.ts";

export const getAvatar = endpoint({
  name: "forge.avatars.get",
  method: "GET",
  path: "/avatars/:hash",
  summary: "The picture of a user or organization",
  gate: anyone,
  params: z.object({ hash: z.string() }),
  replies: { 200: bytesOf("image/svg+xml"), 401: apiError, 404: apiError },
  apiOnly: "addresses of pictures stand in the avatar_url of users and organizations",
});

export const avatarEndpoints = [getAvatar];
