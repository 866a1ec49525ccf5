import { z } from "zod";
import { empty, endpoint, siteAdmin } from "../../endpoint.ts";
import {
  apiError,
  bindingNames,
  optionalFlag,
  optionalInteger,
  optionalQueryFlag,
  optionalText,
  optionalTime,
  optionalVisibility,
  paging,
  queryFlag,
  queryInteger,
  queryWord,
  requiredText,
  signedInReplies,
  trimmedQueryText,
  usernameParams,
  visibilityWords,
} from "../common.ts";
import { isEmailShape, isUserName, isWebUrl } from "../rules.ts";
import { userShape } from "./users.ts";

const userSortWords = ["name", "created", "updated", "id"] as const;

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
      // `order` only counts if `sort` is given, and is validated before it.
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

export const editUser = endpoint({
  name: "forge.admin.users.edit",
  method: "PATCH",
  path: "/api/v1/admin/users/:username",
  summary: "Edit a user; members that are absent or null stay as they are",
  gate: siteAdmin,
  params: usernameParams,
  body: z.object({
    source_id: optionalInteger,
    login_name: requiredText(),
    email: optionalText({ max: 254 }),
    full_name: optionalText({ max: 100 }),
    password: optionalText({ max: 255 }),
    must_change_password: optionalFlag,
    website: optionalText({ max: 255, rules: [["Url", isWebUrl]] }),
    location: optionalText({ max: 50 }),
    description: optionalText({ max: 255 }),
    active: optionalFlag,
    admin: optionalFlag,
    allow_git_hook: optionalFlag,
    allow_import_local: optionalFlag,
    max_repo_creation: optionalInteger,
    prohibit_login: optionalFlag,
    allow_create_organization: optionalFlag,
    restricted: optionalFlag,
    visibility: optionalVisibility,
  }),
  replies: {
    200: userShape,
    400: apiError,
    ...signedInReplies,
    404: apiError,
    409: apiError,
    422: apiError,
  },
});

export const deleteUser = endpoint({
  name: "forge.admin.users.delete",
  method: "DELETE",
  path: "/api/v1/admin/users/:username",
  summary: "Delete a user; with purge also everything that the user owns",
  gate: siteAdmin,
  params: usernameParams,
  query: z.object({ purge: queryFlag }),
  replies: { 204: empty, ...signedInReplies, 404: apiError, 422: apiError },
});

export const renameUser = endpoint({
  name: "forge.admin.users.rename",
  method: "POST",
  path: "/api/v1/admin/users/:username/rename",
  summary: "Rename a user; the old name redirects to the new one",
  gate: siteAdmin,
  params: usernameParams,
  body: z.object({
    new_username: requiredText().register(bindingNames, { field: "NewName", form: "new_name" }),
  }),
  replies: { 204: empty, ...signedInReplies, 404: apiError, 422: apiError },
});

export const adminUserEndpoints = { listUsers, createUser, deleteUser, editUser, renameUser };
