import { z } from "zod";
import { resource } from "../resource.ts";
import { forgeUser } from "../../endpoint.ts";
import { optionalFlag, optionalText } from "../common.ts";
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

export const userSettingsEndpoints = resource(
  {
    name: "forge.user.settings",
    path: "/api/v1/user/settings",
    shape: userSettingsShape,
    gate: forgeUser("user"),
  },
  ({ get, edit }) => ({
    getUserSettings: get("The profile and preferences of the signed-in user"),
    editUserSettings: edit(
      "Edit your profile and preferences; members that are absent or null stay as they are",
      z.object({
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
      { refuses: [404] },
    ),
  }),
);

function isEmailNotificationWord(word: string): boolean {
  return (emailNotificationWords as readonly string[]).includes(word);
}
