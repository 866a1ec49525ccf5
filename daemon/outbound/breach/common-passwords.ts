/**
 * Returns whether a password is among the 49,000 most common ones, ignoring case. Loads the list at the first call: it is
 * needed only when the lookup service does not answer.
 */
export function createCommonPasswords(): (password: string) => Promise<boolean> {
  let list: Promise<ReadonlySet<string>> | undefined;
  return async (password) => {
    list ??= loadList();
    return (await list).has(password.toLowerCase());
  };
}

async function loadList(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  return new Set(dictionary["passwords-common"]);
}
