import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import type { Once } from './once.ts';

Object.assign(globalThis, { addEventListener: () => undefined });
const { useOnce } = await import('./once.ts');

/** The change of a page that is drawn once. */
function changeOf<Input>(mutationFn: (input: Input) => Promise<unknown>): Once<unknown, Input> {
  let change: Once<unknown, Input> | undefined;
  function Page(): null {
    change = useOnce<unknown, Input>({ mutationFn });
    return null;
  }
  renderToString(createElement(QueryClientProvider, { client: new QueryClient() }, createElement(Page)));
  return change!;
}

test('changes - an input that is under way is sent once, and each file is an input of its own', async () => {
  const sent: unknown[] = [];
  const answer = Promise.withResolvers<void>();
  const change = changeOf(async (input: unknown) => {
    sent.push(input);
    await answer.promise;
    return input;
  });
  const [one, other] = [new File(['1'], 'list.csv'), new File(['2'], 'list.csv')];
  const inputs = [
    { to: '1003' },
    { to: '1004' },
    one,
    other,
    { list: 'mine', file: one },
    { list: 'mine', file: other },
  ];
  const again = inputs.map((input) => (input instanceof Blob ? input : { ...input }));
  const results = Promise.all([...inputs, ...again].map((input) => change.mutateAsync(input)));
  answer.resolve();
  assert.deepEqual(
    (await results).map((input) => inputs.indexOf(input as (typeof inputs)[number])),
    [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5],
  );
  assert.equal(sent.length, inputs.length);
});
