import { z } from "zod";
import { endpoint, forgeUser } from "../../endpoint.ts";
import { apiError, optionalFlag, optionalText, signedInReplies } from "../common.ts";
import { isWebUrl } from "../rules.ts";

export const emailNotificationWords = ["enabled", "andyourown", "disabled"] as const;

const userSettingsShape = z.object({
  full_name: z.string(),
  website: z.string(),
  description: z.string(),
  location: z.string(),
  language: z.string(),
  theme: z.string(),
  diff_view_style: z.string(),
  hide_email: z.boolean(),
  hide_activity: z.boolean(),
  email_notifications: z.enum(emailNotificationWords),
});
export type WireUserSettings = z.output<typeof userSettingsShape>;

const path = "/api/v1/user/settings";

export const getUserSettings = endpoint({
  name: "forge.user.settings.get",
  method: "GET",
  path,
  summary: "The profile and preferences of the signed-in user",
  gate: forgeUser("user"),
  replies: { 200: userSettingsShape, ...signedInReplies },
});

export const editUserSettings = endpoint({
  name: "forge.user.settings.edit",
  method: "PATCH",
  path,
  summary: "Edit your profile and preferences; members that are absent or null stay as they are",
  gate: forgeUser("user"),
  body: z.object({
    full_name: optionalText({ max: 100 }),
    website: optionalText({ max: 255, rules: [["Url", isWebUrl]] }),
    description: optionalText({ max: 255 }),
    location: optionalText({ max: 50 }),
    language: optionalText({ max: 16 }),
    theme: optionalText({ max: 64 }),
    diff_view_style: optionalText({ max: 16 }),
    hide_email: optionalFlag,
    hide_activity: optionalFlag,
    email_notifications: optionalText({ rules: [["In", isEmailNotificationWord]] }),
  }),
  replies: { 200: userSettingsShape, ...signedInReplies, 404: apiError, 422: apiError },
});

export const userSettingsEndpoints = { getUserSettings, editUserSettings };

function isEmailNotificationWord(word: string): boolean {
  return (emailNotificationWords as readonly string[]).includes(word);
}
