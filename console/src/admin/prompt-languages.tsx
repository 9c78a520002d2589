/** Languages of the engine's prompts: missing prompts, uploaded sets, and their removal. */
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Group, Table, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { PromptLanguage } from '@offhook/contract/sounds.ts';
import { ChooseFile } from '../app/choose-file.tsx';
import { Danger } from '../app/danger.tsx';
import { formatNumber } from '../app/format.ts';
import { Rows, Section, useChange } from '../app/page-parts.tsx';
import { useClient } from '../app/session.tsx';
import { Empty, Failure, Loading } from '../app/states.tsx';
import { language as ownLanguage, wordsOf } from '../app/words.ts';

const t = wordsOf('admin');

export function PromptLanguages(): ReactNode {
  const client = useClient();
  const list = useQuery({
    queryKey: ['prompt-languages'],
    queryFn: ({ signal }) => client.sounds.languages(signal),
  });
  const languages = list.data?.languages ?? [];
  return (
    <Section title={t('languages_title')} text={t('languages_text')}>
      {list.isPending && <Loading />}
      {list.isError && <Failure error={list.error} onRetry={() => void list.refetch()} />}
      {list.isSuccess && languages.length === 0 && <Empty title={t('languages_none')} />}
      {languages.length > 0 && (
        <Rows
          caption={t('languages_title')}
          minWidth={640}
          folds
          columns={[t('languages_language'), t('languages_prompts'), t('languages_missing'), '']}
        >
          {languages.map((one) => (
            <LanguageRow key={one.language} one={one} />
          ))}
        </Rows>
      )}
      <UploadSet />
    </Section>
  );
}
const nameOf = (code: string): string =>
  new Intl.DisplayNames([ownLanguage()], { type: 'language' }).of(code.replaceAll('_', '-')) ?? code;
function LanguageRow({ one }: { readonly one: PromptLanguage }): ReactNode {
  const client = useClient();
  const remove = useChange<unknown, undefined>(() => client.sounds.removeLanguage(one.language), {
    renews: ['prompt-languages'],
    done: () => t('languages_removed', { language: one.language }),
  });
  const number = formatNumber(one.missing.length);
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm" fw={600}>
          {one.language} · {nameOf(one.language)}
        </Text>
        <Text size="xs" c="dimmed">
          {t(one.used ? 'languages_used' : 'languages_unused')}
        </Text>
      </Table.Td>
      <Table.Td>{one.uploaded ? formatNumber(one.prompts) : t('languages_engine')}</Table.Td>
      <Table.Td>
        {one.missing.length === 0 ? (
          t('languages_complete')
        ) : (
          <details>
            <summary>{t('languages_lacks', { count: one.missing.length, number })}</summary>
            <Text size="xs" style={{ overflowWrap: 'anywhere' }}>
              {one.missing.join(', ')}
            </Text>
          </details>
        )}
      </Table.Td>
      <Table.Td>
        {one.uploaded && (
          <Group justify="flex-end">
            <Danger
              size="xs"
              label={t('languages_remove')}
              about={`${t('languages_remove')}: ${one.language}`}
              title={t('languages_remove_title', { language: one.language })}
              text={t('languages_remove_text')}
              change={remove}
              disabled={one.used}
            />
          </Group>
        )}
      </Table.Td>
    </Table.Tr>
  );
}
function UploadSet(): ReactNode {
  const client = useClient();
  const [typed, setLanguage] = useState('');
  const language = typed.trim();
  const upload = useChange((file: File) => client.uploadPrompts(language, file), {
    renews: ['prompt-languages'],
    done: ({ prompts }) => t('languages_uploaded', { count: prompts, number: formatNumber(prompts) }),
  });
  return (
    <>
      <Group gap="sm" align="end" mt="md">
        <TextInput
          id="prompt-language"
          label={t('languages_language')}
          placeholder="tr"
          autoComplete="off"
          w={140}
          value={typed}
          onChange={(event) => setLanguage(event.currentTarget.value)}
        />
        <ChooseFile
          text={t('languages_upload')}
          accept=".zip,.tar,.tgz,.gz"
          loading={upload.isPending}
          disabled={language === ''}
          onFile={(file) => upload.mutate(file)}
        />
      </Group>
      <Text size="xs" c="dimmed" mt={4}>
        {t('languages_upload_text')}
      </Text>
      {upload.isError && <Failure error={upload.error} />}
    </>
  );
}
