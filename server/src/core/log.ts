/** The part of a logger that the service uses; pino implements it. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Log;
  /** False where lines of this level are discarded, so that callers need not build them. */
  isLevelEnabled?(level: 'debug'): boolean;
}
const nothing = (): void => {};
/** A log that keeps nothing, for tests. */
export const silent: Log = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => silent,
  isLevelEnabled: () => false,
};
