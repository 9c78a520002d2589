/** The part of a logger the house uses; pino is one. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Log;
  /** False where such lines go nowhere, so that making them can be spared. */
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
