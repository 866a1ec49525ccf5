import type { Socket } from "node:net";

/** Adds a paused socket. Reading starts when its reader resumes it. Call it before its reader listens for data. */
export type ScheduleReads = (socket: Socket) => void;

/**
 * Reads sockets round-robin: one chunk of one socket in each iteration of the event loop. Node reads up to two
 * megabytes of one socket before it reads another one, and the library needs seconds to answer that many small packets.
 * A socket is not read while its client does not read the responses, so that these do not accumulate in memory.
 * @param unsentBytesMax maximum number of unsent bytes of a socket; beyond it, the socket is not read
 */
export function createReadScheduler(unsentBytesMax: number): ScheduleReads {
  const waiting = new Set<Socket>();
  let isScheduled = false;

  const schedule = () => {
    if (isScheduled || waiting.size === 0) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      const [next] = waiting;
      if (next !== undefined) {
        waiting.delete(next);
        next.resume();
      }
      schedule();
    });
  };
  const wait = (socket: Socket) => {
    if (socket.destroyed) return;
    waiting.add(socket);
    schedule();
  };

  return (socket) => {
    socket.on("data", () => {
      socket.pause();
      // The reader gets this chunk after this listener; measure its writes afterwards.
      setImmediate(() => {
        if (socket.writableLength <= unsentBytesMax) wait(socket);
        else socket.once("drain", () => wait(socket));
      });
    });
    socket.once("close", () => waiting.delete(socket));
  };
}
