import type { SealAgainIn } from "../../storage/keys/rotation.ts";
import { sealSecretAgain } from "../forge/accounts/second-factors.service.ts";
import { sealTokenAgain } from "../forge/actions/runners/registration.service.ts";
import { sealMasksAgain } from "../forge/actions/secrets/masks.service.ts";
import { sealActionSecretAgain } from "../forge/actions/secrets/secrets.service.ts";
import { sealHostKeyAgain } from "../forge/git/ssh/host-keys.ts";
import { sealTargetAgain } from "../forge/hooks/targets.ts";
import { sealImportAgain, sealMirrorAgain } from "../forge/imports/remote-address.ts";
import { sealMailAgain } from "../outbound/mail/mailer.ts";
import { sealTotpSecretAgain } from "../vault/accounts/totp-secrets.ts";
import { sealApiKeyAgain } from "../vault/ai/api-keys.ts";
import { sealVerifierAgain } from "../vault/cloud/authorization/authorization.service.ts";
import { sealCredentialsAgain } from "../vault/cloud/connections/credentials.ts";
import { sealLinkSecretAgain } from "../vault/links/link-secrets.ts";
import { sealSessionAgain } from "../vault/cloud/resumable/provider-sessions.ts";

/** The functions that reseal the values of each column after a rotation of the master key. */
export const sealAgainIn: SealAgainIn = {
  forgeSecondFactors: sealSecretAgain,
  forgeHookTargets: sealTargetAgain,
  forgeRegistrationTokens: sealTokenAgain,
  forgeActionSecrets: sealActionSecretAgain,
  forgeTaskMasks: sealMasksAgain,
  forgeMirrorCredentials: sealMirrorAgain,
  forgeImportCredentials: sealImportAgain,
  forgeSshHostKeys: sealHostKeyAgain,
  vaultTotpSecrets: sealTotpSecretAgain("totp_secret"),
  vaultPendingTotpSecrets: sealTotpSecretAgain("totp_pending_secret"),
  vaultCredentials: sealCredentialsAgain,
  vaultApiKeys: sealApiKeyAgain,
  vaultCodeVerifiers: sealVerifierAgain,
  vaultLinkSecrets: sealLinkSecretAgain,
  vaultUploadSessions: sealSessionAgain,
  queuedMails: sealMailAgain,
};
