// How the samples were taken, and what became of each of them.
import type { Profile } from "../data/types.ts";
import { recordingFacts } from "../model/recording.ts";

export function RecordingCard({ profile }: { profile: Profile }) {
  return (
    <section class="card" id="card-about" aria-label="Recording">
      <header>
        <h2>How this was recorded</h2>
        <span class="note">of the whole recording: which executions lost samples is not known</span>
      </header>
      {recordingFacts(profile).map(({ title, facts }) => (
        <>
          <h3>{title}</h3>
          <dl class="about">
            {facts.map(({ name, value, bad }) => (
              <div key={name} class={`${bad ? "bad" : ""} ${value.length > 40 ? "wide" : ""}`}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </>
      ))}
    </section>
  );
}
