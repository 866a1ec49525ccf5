import { z } from "zod";
import { resource } from "../resource.ts";
import { empty, siteAdmin } from "../../endpoint.ts";
import {
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
  trimmedQueryText,
  usernameParams,
  visibilityWords,
} from "../common.ts";
import { isEmailShape, isUserName, isWebUrl } from "../rules.ts";
import { userShape } from "./users.ts";

const userSortWords = ["name", "created", "updated", "id"] as const;

export const adminUserEndpoints = resource(
  {
    name: "forge.admin.users",
    path: "/api/v1/admin/users",
    id: usernameParams.shape,
    shape: userShape,
    gate: siteAdmin,
  },
  ({ create, edit, remove, operation }) => ({
    listUsers: operation({
      as: "list",
      method: "GET",
      summary: "Search users",
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
      replies: { 200: z.array(userShape) },
      refuses: [422],
    }),
    createUser: create(
      "Create a user",
      z.object({
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
      { refuses: [400, 409] },
    ),
    deleteUser: remove("Delete a user; with purge also everything that the user owns", {
      query: z.object({ purge: queryFlag }),
      refuses: [422],
    }),
    editUser: edit(
      "Edit a user; members that are absent or null stay as they are",
      z.object({
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
      { refuses: [400, 409] },
    ),
    renameUser: operation({
      method: "POST",
      item: true,
      at: "rename",
      summary: "Rename a user; the old name redirects to the new one",
      body: z.object({
        new_username: requiredText().register(bindingNames, { field: "NewName", form: "new_name" }),
      }),
      replies: { 204: empty },
    }),
  }),
);
