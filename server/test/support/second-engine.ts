import type { Instance } from '../../src/adapters/asterisk/conf/instance.ts';
import type { OtherEngine } from '../../src/ports/site.ts';

/** Describes the second engine, in the data folder of the service. */
export const ENGINES_FILE = 'test-engine.json';
export interface SecondEngine {
  readonly engine: OtherEngine;
  readonly instance: Instance;
}
