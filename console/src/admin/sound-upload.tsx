/** Upload, speech and playback of a prompt's sound. */
import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import { Button, Group, Input, Progress, Text } from '@mantine/core';
import { FileAudio } from 'lucide-react';
import { ChooseFile } from '../app/choose-file.tsx';
import { errorDetail, errorText } from '../app/error-words.ts';
import { formatSpan } from '../app/format.ts';
import { useClient } from '../app/session.tsx';
import { wordsOf } from '../app/words.ts';
import { SpeakText } from './speak-text.tsx';

const t = wordsOf('admin');

interface SoundUploadProps {
  readonly id: string;
  readonly label: string;
  readonly description?: string | undefined;
  readonly error?: ReactNode;
  readonly withAsterisk?: boolean;
  readonly value: string;
  readonly onChange: (sound: string) => void;
}
export function SoundUpload({
  id,
  value,
  onChange,
  label,
  description,
  error,
  withAsterisk,
}: SoundUploadProps): ReactNode {
  const client = useClient();
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<unknown>(null);
  const [seconds, setSeconds] = useState<number | null>(null);
  async function upload(file: File): Promise<void> {
    setBusy(true);
    setFailed(null);
    try {
      const taken = await client.uploadSound(file);
      setSeconds(taken.seconds);
      onChange(taken.sound);
    } catch (caught) {
      setFailed(caught);
    } finally {
      setBusy(false);
    }
  }
  return (
    <Input.Wrapper
      label={label}
      description={description}
      error={error}
      labelElement="div"
      withAsterisk={withAsterisk ?? false}
    >
      <Group gap="sm" mt={6} id={id}>
        <ChooseFile
          text={t(value === '' ? 'upload' : 'upload_another')}
          label={label}
          accept="audio/*,.wav,.mp3,.flac,.ogg,.opus"
          loading={busy}
          onFile={(file) => void upload(file)}
        />
        <SpeakText
          id={`${id}.speech`}
          onMade={(made) => {
            setFailed(null);
            setSeconds(made.seconds);
            onChange(made.sound);
          }}
        />
        {value !== '' && <Listen sound={value} />}
        {seconds !== null && (
          <Text size="sm" c="dimmed">
            {formatSpan(seconds)}
          </Text>
        )}
      </Group>
      {busy && <Progress value={100} animated mt="xs" aria-label={t('uploading')} />}
      {failed !== null && (
        <Input.Error mt="xs" role="alert">
          {errorText(failed)} {errorDetail(failed)}
        </Input.Error>
      )}
    </Input.Wrapper>
  );
}
/** Loaded with the session on the first playback. */
function Listen({ sound }: { readonly sound: string }): ReactNode {
  const client = useClient();
  const [url, setUrl] = useState<string | null>(null);
  const [failed, setFailed] = useState<unknown>(null);
  useEffect(() => {
    setUrl(null);
    setFailed(null);
  }, [sound]);
  useEffect(() => (url === null ? undefined : () => URL.revokeObjectURL(url)), [url]);
  async function load(): Promise<void> {
    try {
      setUrl(URL.createObjectURL(await (await client.soundFile(sound)).blob()));
    } catch (caught) {
      setFailed(caught);
    }
  }
  if (failed !== null)
    return (
      <Text size="sm" c="var(--offhook-alert)" role="alert">
        {errorText(failed)}
      </Text>
    );
  if (url === null)
    return (
      <Button variant="default" leftSection={<FileAudio size={16} aria-hidden />} onClick={() => void load()}>
        {t('listen')}
      </Button>
    );
  return <audio controls autoPlay src={url} aria-label={t('listen')} />;
}
