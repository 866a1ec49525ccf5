/** Stores secrets by name. Every method throws when the store is not available. */
export type SecretStore = ReturnType<typeof createSystemKeyring>;

/** The part of keytar that is used. */
export interface Keytar {
  getPassword(service: string, account: string): Promise<string | null>;
  setPassword(service: string, account: string, password: string): Promise<void>;
  deletePassword(service: string, account: string): Promise<boolean>;
}

export interface SystemKeyringOptions {
  /** Loads keytar; rejects where its library is missing. Called at first use. */
  readonly load: () => Promise<Keytar>;
  /** Maximum duration of a call: a locked keyring may wait for a prompt that is never answered. */
  readonly timeoutMs?: number;
}

const SERVICE = "croft";
const TIMEOUT_MS = 3000;

/** Creates the store of the operating system's keyring. Loading and each call have a time limit. */
export function createSystemKeyring({ load, timeoutMs = TIMEOUT_MS }: SystemKeyringOptions) {
  let loaded: Promise<Keytar> | undefined;
  const use = async <T>(call: (keytar: Keytar) => Promise<T>): Promise<T> => {
    loaded ??= load();
    const attached = loaded;
    return within(timeoutMs, async () => call(await attached));
  };
  return {
    get: (account: string): Promise<string | undefined> =>
      use(async (keytar) => (await keytar.getPassword(SERVICE, account)) ?? undefined),
    set: (account: string, secret: string): Promise<void> =>
      use((keytar) => keytar.setPassword(SERVICE, account, secret)),
    remove: async (account: string): Promise<void> => {
      await use((keytar) => keytar.deletePassword(SERVICE, account));
    },
  };
}

/**
 * Returns whether `store` works: writes, reads and deletes a temporary entry. A keyring may load and still be locked,
 * missing or not persistent.
 */
export async function probeSecretStore(store: SecretStore, throwAway: string): Promise<boolean> {
  const account = `probe:${throwAway}`;
  try {
    await store.set(account, throwAway);
    const stored = await store.get(account);
    await store.remove(account);
    return stored === throwAway;
  } catch {
    // Every failure has the same result; the caller reports which store is used instead.
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
