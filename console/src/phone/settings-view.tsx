import { useEffect, useState, useSyncExternalStore } from 'react';
import type { ReactNode } from 'react';
import { Alert, Button, Group, NativeSelect, Stack, Switch, Text } from '@mantine/core';
import { MicrophoneError, levelOf, listDevices, openMicrophone, stopStream } from './devices.ts';
import type { DeviceChoice, Devices } from './devices.ts';
import { canNotify } from './notices.ts';
import { phone } from './phone.ts';
import type { PhoneProblem } from './phone-state.ts';
import type { PhoneSettings } from './settings.ts';
import { wordsOf } from '../app/words.ts';
import styles from './phone.module.css';

const t = wordsOf('phone');

const NONE: Devices = { microphones: [], speakers: [] };
function useDevices(): Devices {
  const [devices, setDevices] = useState(NONE);
  useEffect(() => {
    const look = (): void => void listDevices().then(setDevices, () => setDevices(NONE));
    look();
    // Undefined in spite of its type, for example at a plain http address.
    const media = navigator.mediaDevices as MediaDevices | undefined;
    media?.addEventListener('devicechange', look);
    return () => media?.removeEventListener('devicechange', look);
  }, []);
  return devices;
}
function Level({ microphone }: { readonly microphone: string }): ReactNode {
  const [level, setLevel] = useState(0);
  const [problem, setProblem] = useState<PhoneProblem | null>(null);
  useEffect(() => {
    let end = (): void => undefined;
    let gone = false;
    openMicrophone(microphone).then(
      (stream) => {
        if (gone) return stopStream(stream);
        setProblem(null);
        const stop = levelOf(stream, setLevel);
        end = () => {
          stop();
          stopStream(stream);
        };
      },
      (error: unknown) => setProblem(error instanceof MicrophoneError ? error.problem : 'failed'),
    );
    return () => {
      gone = true;
      end();
    };
  }, [microphone]);
  if (problem !== null) {
    return (
      <Alert color="red" variant="light" role="alert" title={t(`trouble_${problem}`)}>
        {t(`help_${problem}`)}
      </Alert>
    );
  }
  return (
    <div
      className={styles.level}
      role="meter"
      aria-label={t('level')}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(level * 100)}
    >
      <div className={styles.levelNow} style={{ transform: `scaleX(${level})` }} />
    </div>
  );
}

export function SettingsView({ settings }: { readonly settings: PhoneSettings }): ReactNode {
  const devices = useDevices();
  const softphone = useSyncExternalStore(phone.subscribe, () => phone.softphone);
  const [blocked, setBlocked] = useState(canNotify() && Notification.permission === 'denied');
  const choose = (next: Partial<PhoneSettings>): void => {
    phone.change(next);
    void phone.softphone?.devicesChanged();
  };
  const options = (choices: readonly DeviceChoice[], chosen: string) => [
    { value: '', label: t('system_default') },
    ...choices.map(({ id, label }) => ({ value: id, label })),
    // A chosen device that is unplugged is listed by name again once it is plugged in.
    ...(chosen === '' || choices.some(({ id }) => id === chosen) ? [] : [{ value: chosen, label: '–' }]),
  ];
  async function setNotify(notify: boolean): Promise<void> {
    if (!notify || !canNotify()) return phone.change({ notify: false });
    const permission = await Notification.requestPermission();
    setBlocked(permission === 'denied');
    phone.change({ notify: permission === 'granted' });
  }
  return (
    <Stack gap="md">
      <Stack gap={6}>
        <NativeSelect
          label={t('microphone')}
          value={settings.microphone}
          data={options(devices.microphones, settings.microphone)}
          onChange={(event) => choose({ microphone: event.currentTarget.value })}
        />
        <Level microphone={settings.microphone} />
      </Stack>
      {devices.speakers.length > 0 && (
        <>
          <NativeSelect
            label={t('speaker')}
            value={settings.speaker}
            data={options(devices.speakers, settings.speaker)}
            onChange={(event) => choose({ speaker: event.currentTarget.value })}
          />
          <NativeSelect
            label={t('ringer')}
            value={settings.ringer}
            data={options(devices.speakers, settings.ringer)}
            onChange={(event) => choose({ ringer: event.currentTarget.value })}
          />
        </>
      )}
      <Group gap="xs" grow>
        <Button variant="default" disabled={softphone === null} onClick={() => softphone?.test('test')}>
          {t('test_speaker')}
        </Button>
        <Button variant="default" disabled={softphone === null} onClick={() => softphone?.test('ring')}>
          {t('test_ringer')}
        </Button>
      </Group>
      {canNotify() && (
        <Switch
          label={t('notify')}
          checked={settings.notify}
          onChange={(event) => void setNotify(event.currentTarget.checked)}
        />
      )}
      {blocked && (
        <Text size="sm" c="var(--offhook-alert)">
          {t('notify_blocked')}
        </Text>
      )}
      <Switch
        label={t('shortcuts')}
        description={t('shortcuts_text')}
        checked={settings.shortcuts}
        onChange={(event) => phone.change({ shortcuts: event.currentTarget.checked })}
      />
      <Button variant="default" color="red" onClick={() => phone.switchOff()}>
        {t('switch_off')}
      </Button>
    </Stack>
  );
}
