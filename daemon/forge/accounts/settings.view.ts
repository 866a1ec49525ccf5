import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { BodyOf } from "../../contract/endpoint.ts";
import {
  type userSettingsEndpoints,
  emailNotificationWords,
  type WireUserSettings,
} from "../../contract/forge/accounts/settings.ts";
import type { OwnSettingsEdit } from "./settings.service.ts";

/** The profile and preferences of an account. */
export function toSettingsView(user: ForgeUser): WireUserSettings {
  return {
    full_name: user.fullName,
    website: user.website,
    description: user.description,
    location: user.location,
    language: user.language,
    theme: user.theme,
    diff_view_style: user.diffViewStyle,
    hide_email: user.keepEmailPrivate,
    hide_activity: user.keepActivityPrivate,
    email_notifications: user.emailNotifications,
  };
}

/** The changes of a profile; absent members stay as they are. */
export function toEdit(
  body: BodyOf<typeof userSettingsEndpoints.editUserSettings>,
): OwnSettingsEdit {
  return {
    fullName: body.full_name ?? undefined,
    website: body.website ?? undefined,
    description: body.description ?? undefined,
    location: body.location ?? undefined,
    language: body.language ?? undefined,
    theme: body.theme ?? undefined,
    diffViewStyle: body.diff_view_style ?? undefined,
    keepEmailPrivate: body.hide_email ?? undefined,
    keepActivityPrivate: body.hide_activity ?? undefined,
    emailNotifications: emailNotificationWords.find((word) => word === body.email_notifications),
  };
}
