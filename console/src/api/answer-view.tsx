/** The answer to a request: status, headers, and the body as text, sound or file. */
import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import { Anchor, Badge, Button, Group, Stack, Text } from '@mantine/core';
import { Download } from 'lucide-react';
import { formatNumber } from '../app/format.ts';
import { wordsOf } from '../app/words.ts';
import { Code, Disclosure } from './parts.tsx';
import { fileName } from './send.ts';
import type { Answer } from './send.ts';
import styles from './api.module.css';

const t = wordsOf('api');

interface AnswerViewProps {
  readonly answer: Answer;
  readonly address: string;
}
export function AnswerView({ answer, address }: AnswerViewProps): ReactNode {
  const { status, statusText, ms, bytes, text, file, headers, cut } = answer;
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (file === null) return undefined;
    const made = URL.createObjectURL(file);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  const ok = status < 400;
  const [, code] = ok ? [] : (/"code":\s*"([a-z_]+)"/.exec(text ?? '') ?? []);
  return (
    <Stack gap="xs">
      <Group gap="sm" role="status">
        <Badge
          color={ok ? 'green' : 'red'}
          variant="light"
          size="lg"
          className={styles.status ?? ''}
          data-ok={ok || undefined}
        >
          {status} {statusText}
        </Badge>
        <Text size="sm">{ms === null ? t('sending') : t('took', { ms: formatNumber(ms) })}</Text>
        <Text size="sm">{t('bytes', { size: formatNumber(bytes) })}</Text>
        {code !== undefined && (
          <Anchor size="sm" href={`/docs/errors#${code}`}>
            {t('what_it_means', { code })}
          </Anchor>
        )}
      </Group>
      <Disclosure head={<Text size="sm">{t('headers')}</Text>}>
        {() => <Code label={t('headers')} text={headers.map(([n, value]) => `${n}: ${value}`).join('\n')} />}
      </Disclosure>
      {text !== null && text !== '' && <Code label={t('answer')} text={text} />}
      {ms !== null && bytes === 0 && <Text size="sm">{t('no_body')}</Text>}
      {cut && <Text size="sm">{t('cut')}</Text>}
      {file !== null && file.type.startsWith('audio/') && url !== null && (
        <audio controls src={url} className={styles.audio} />
      )}
      {url !== null && (
        <Group>
          <Button
            component="a"
            href={url}
            download={fileName(answer, address)}
            variant="default"
            size="xs"
            leftSection={<Download size={14} aria-hidden />}
          >
            {t('download')}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
