import { defineWords } from '../app/words.ts';
import { de } from './words-de.ts';
import { en } from './words-en.ts';
import { tr } from './words-tr.ts';

export const t = defineWords({ en, tr, de });
