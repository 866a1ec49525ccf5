import { z } from "zod";
import { endpoint, siteAdmin } from "../endpoint.ts";
import {
  apiError,
  optionalFlag,
  optionalInteger,
  optionalQueryFlag,
  optionalText,
  optionalTime,
  optionalVisibility,
  paging,
  queryInteger,
  queryWord,
  requiredText,
  signedInReplies,
  trimmedQueryText,
  visibilityWords,
} from "./common.ts";
import { isEmailShape, isUserName } from "./rules.ts";
import { userShape } from "./users.ts";

export const userSortWords = ["name", "created", "updated", "id"] as const;

export const listUsers = endpoint({
  name: "forge.admin.users.list",
  method: "GET",
  path: "/api/v1/admin/users",
  summary: "Search users",
  gate: siteAdmin,
  query: z
    .object({
      source_id: queryInteger,
      login_name: trimmedQueryText,
      ...paging,
      sort: queryWord(userSortWords),
      order: queryWord(["asc", "desc"]),
      q: trimmedQueryText,
      visibility: queryWord(visibilityWords),
      is_active: optionalQueryFlag,
      is_admin: optionalQueryFlag,
      is_restricted: optionalQueryFlag,
      is_2fa_enabled: optionalQueryFlag,
      is_prohibit_login: optionalQueryFlag,
    })
    .superRefine(({ sort, order, visibility }, context) => {
      const refuse = (message: string) => context.addIssue({ code: "custom", message });
      // Order is looked at only when a sort is given, and before it (forge behaviour, 8.1).
      if (sort !== "" && !["", "asc", "desc"].includes(order))
        refuse(`Invalid sort order: ${JSON.stringify(order)}`);
      else if (!["", ...userSortWords].includes(sort))
        refuse(`Invalid sort mode: ${JSON.stringify(sort)}`);
      else if (!["", ...visibilityWords].includes(visibility)) refuse("invalid visibility");
    }),
  paging: "link_and_total",
  replies: { 200: z.array(userShape), ...signedInReplies, 422: apiError },
});

export const createUser = endpoint({
  name: "forge.admin.users.create",
  method: "POST",
  path: "/api/v1/admin/users",
  summary: "Create a user",
  gate: siteAdmin,
  body: z.object({
    source_id: optionalInteger,
    login_name: optionalText(),
    username: requiredText({ max: 40, rules: [["invalid username", isUserName]] }),
    full_name: optionalText({ max: 100 }),
    email: requiredText({ max: 254, rules: [["Email", isEmailShape]] }),
    password: optionalText({ max: 255 }),
    must_change_password: optionalFlag,
    send_notify: optionalFlag,
    restricted: optionalFlag,
    visibility: optionalVisibility,
    created_at: optionalTime,
  }),
  replies: { 201: userShape, 400: apiError, ...signedInReplies, 409: apiError, 422: apiError },
});

export const adminUserEndpoints = [listUsers, createUser];
