import { siteLogConformance } from '../conformance/site-log.ts';
import { appendGroups } from './appender.ts';
import { ServiceError } from '../../src/core/errors.ts';
import { checkOf, firstCheck } from '../../src/core/row-check.ts';
import { sharedLog, openMemorySiteLog } from './memory-site-log.ts';

siteLogConformance('memory', async () => {
  const place = sharedLog();
  let loses = false;
  return {
    open() {
      const log = openMemorySiteLog(place);
      return {
        ...log,
        async append(term, after, rows) {
          const outcome = await log.append(term, after, rows);
          if (!loses) return outcome;
          loses = false;
          throw new ServiceError('store_unavailable', 'the answer was lost');
        },
      };
    },
    async cut(count) {
      const state = place.state!;
      place.rows = place.rows.slice(0, -count);
      const check = checkOf(place.rows.at(-1)?.json ?? '') || firstCheck(state.epoch);
      place.state = { ...state, head: state.head - count, check };
    },
    appendApart: (what) => appendGroups(openMemorySiteLog(place), what),
    loseAnswer: () => void (loses = true),
    [Symbol.asyncDispose]: async () => {},
  };
});
