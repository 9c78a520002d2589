/** The pages of the configuration. */
import type { ReactNode } from 'react';
import { Stack } from '@mantine/core';
import { useSearch } from 'wouter';
import { PAGE_PATHS } from '../app/paths.ts';
import { Missing } from '../app/states.tsx';
import type { PageProps } from '../pages.tsx';
import { ApplyView } from './apply-page.tsx';
import { ChangesView } from './changes-page.tsx';
import { kindAt } from './data.ts';
import { NewObject, ObjectOf } from './object-page.tsx';
import { ObjectsList } from './objects.tsx';
import { Overview } from './overview.tsx';
import { Phones } from './phones.tsx';
import { PromptLanguages } from './prompt-languages.tsx';
import { PushServices } from './push-services.tsx';
import { RouteTestView } from './route-test.tsx';
import { VersionView, VersionsView } from './versions.tsx';
import { decoded } from '../app/decoded.ts';
import { wordsOf } from '../app/words.ts';

const app = wordsOf('app');

const Nothing = (): ReactNode => <Missing href={PAGE_PATHS.config} label={app('config')} />;
const numberOf = (word: string | undefined): number | null =>
  word !== undefined && /^[1-9]\d{0,14}$/.test(word) ? Number(word) : null;
export const ConfigPage = (): ReactNode => <Overview />;
export function ObjectsPage({ params }: PageProps): ReactNode {
  const search = new URLSearchParams(useSearch());
  const kind = kindAt(params['kind'] ?? '');
  if (kind === null) return <Nothing />;
  const copyOf = search.get('copy');
  if (search.has('new') || copyOf !== null)
    return <NewObject key={`${kind}/${copyOf}`} kind={kind} copyOf={copyOf} />;
  return (
    <Stack>
      <ObjectsList key={kind} kind={kind} />
      {kind === 'phone' && <Phones />}
      {kind === 'phone' && <PushServices />}
      {kind === 'prompt' && <PromptLanguages />}
    </Stack>
  );
}
export function ObjectPage({ params }: PageProps): ReactNode {
  const kind = kindAt(params['kind'] ?? '');
  const name = decoded(params['key'] ?? '');
  return kind === null ? <Nothing /> : <ObjectOf key={`${kind}/${name}`} kind={kind} name={name} />;
}
export const ChangesPage = (): ReactNode => <ChangesView />;
export function ApplyPage({ params }: PageProps): ReactNode {
  const id = numberOf(params['apply']);
  return id === null ? <Nothing /> : <ApplyView id={id} />;
}
export const VersionsPage = (): ReactNode => <VersionsView />;
export function VersionPage({ params }: PageProps): ReactNode {
  const version = numberOf(params['version']);
  return version === null ? <Nothing /> : <VersionView version={version} />;
}
export const RouteTestPage = (): ReactNode => <RouteTestView />;
