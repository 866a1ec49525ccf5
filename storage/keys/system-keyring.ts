/** Where a secret can be kept by name. Every method throws when the store does not work at this moment. */
export interface SecretStore {
  get(account: string): Promise<string | undefined>;
  set(account: string, secret: string): Promise<void>;
  remove(account: string): Promise<void>;
}

/** The part of keytar that is used. */
export interface Keytar {
  getPassword(service: string, account: string): Promise<string | null>;
  setPassword(service: string, account: string, password: string): Promise<void>;
  deletePassword(service: string, account: string): Promise<boolean>;
}

export interface SystemKeyringOptions {
  /** Loads keytar; rejects where its library is missing. Called at first use, not before. */
  readonly load: () => Promise<Keytar>;
  /** How long one call may take: a locked keyring may wait for a person who is not there. */
  readonly timeoutMs?: number;
}

const SERVICE = "croft";
const TIMEOUT_MS = 3000;

/** The operating system's keyring. Loading it and each call are bounded in time. */
export function createSystemKeyring({
  load,
  timeoutMs = TIMEOUT_MS,
}: SystemKeyringOptions): SecretStore {
  let loaded: Promise<Keytar> | undefined;
  const use = async <T>(call: (keytar: Keytar) => Promise<T>): Promise<T> => {
    loaded ??= load();
    const attached = loaded;
    return within(timeoutMs, async () => call(await attached));
  };
  return {
    get: (account) =>
      use(async (keytar) => (await keytar.getPassword(SERVICE, account)) ?? undefined),
    set: (account, secret) => use((keytar) => keytar.setPassword(SERVICE, account, secret)),
    remove: async (account) => {
      await use((keytar) => keytar.deletePassword(SERVICE, account));
    },
  };
}

/**
 * Whether `store` keeps what it is given: writes, reads back and removes a throw-away entry. A keyring may load and
 * still be locked, absent or forgetful.
 */
export async function probeSecretStore(store: SecretStore, throwAway: string): Promise<boolean> {
  const account = `probe:${throwAway}`;
  try {
    await store.set(account, throwAway);
    const kept = await store.get(account);
    await store.remove(account);
    return kept === throwAway;
  } catch {
    // Any failure has the same answer; the caller says which store is used instead.
    return false;
  }
}

async function within<T>(timeoutMs: number, work: () => Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`the keyring did not answer within ${timeoutMs} ms`)),
    timeoutMs,
  );
  try {
    return await Promise.race([work(), promise]);
  } finally {
    clearTimeout(timer);
  }
}
