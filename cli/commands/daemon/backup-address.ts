import { type BucketSetting, bucketUrl } from "../../../daemon/settings/types.ts";
import type { Settings } from "../../../daemon/settings/settings.ts";
import { CliError, usageError } from "../../errors.ts";
import type { CliContext } from "../../context.ts";
import type { Transfer } from "../../output/progress.ts";

/** A folder of a bucket, with the name of a backup in it if the address has one. */
export interface BackupAddress {
  readonly place: BucketSetting;
  readonly name: string | undefined;
}

/** The help of `--to` and `--from`. */
export const ADDRESS_HELP =
  "a folder of a bucket, s3://BUCKET/FOLDER?endpoint=https://HOST:PORT, without a value that of backup_url; " +
  'its key is in backup_access_key_id and backup_secret_access_key ("croft help backups")';

/**
 * Reads the value of `--to` or `--from`; `true` means the setting `backup_url`.
 * @throws CliError `usage` for another form, `invalid_config` without the setting
 */
export function readBackupAddress(
  flag: string,
  value: string | true,
  { backupUrl }: Pick<Settings, "backupUrl">,
): BackupAddress {
  if (value === true && backupUrl === undefined)
    throw new CliError("invalid_config", `${flag} has no value, and backup_url is not set`, {
      hint: `croft config set backup_url 's3://BUCKET/FOLDER?endpoint=https://HOST:PORT', or give the address to ${flag}`,
    });
  const place =
    value === true
      ? backupUrl
      : bucketUrl.read(value, { resolvePath: (path) => path, pathSeparator: ":" });
  if (place === undefined)
    throw usageError(
      `${flag} takes the address of a bucket, not ${JSON.stringify(value)}`,
      bucketUrl.takes,
    );
  const [, folder = "", name] = /^(?:(.*)\/)?(croft-home-[^/]+\.tar)$/.exec(place.folder) ?? [];
  return name === undefined ? { place, name } : { place: { ...place, folder }, name };
}

/** Receives the number of completed bytes and the total, which is undefined while unknown. */
export type OnProgress = (done: number, total: number | undefined) => void;

/**
 * Runs `work` and shows the bytes that it reports as one transfer: a bar with rate and time left on a terminal,
 * events with `--progress json`, otherwise nothing. The transfer begins with the first bytes.
 */
export async function withByteProgress<T>(
  cli: Pick<CliContext, "progress">,
  name: string,
  work: (onProgress: OnProgress) => Promise<T>,
): Promise<T> {
  const progress = await cli.progress();
  let transfer: Transfer | undefined;
  let isDone = false;
  try {
    const result = await work((done, total) => {
      transfer ??= progress.begin(name, total);
      transfer.update(done);
    });
    isDone = true;
    return result;
  } finally {
    transfer?.end(isDone ? "done" : "failed");
  }
}
