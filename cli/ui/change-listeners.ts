/** Notifies listeners that the screen may have changed. */
export interface Changes {
  notify(): void;
  subscribe(listener: () => void): () => void;
}

export function createChangeListeners(): Changes {
  const listeners = new Set<() => void>();
  return {
    notify() {
      for (const listener of listeners) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}
