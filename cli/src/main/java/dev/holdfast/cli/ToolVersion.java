package dev.holdfast.cli;

import picocli.CommandLine.IVersionProvider;

/** The version that the build wrote into the jar. */
final class ToolVersion implements IVersionProvider {

    @Override
    public String[] getVersion() {
        String version = ToolVersion.class.getPackage().getImplementationVersion();
        return new String[] {
            "holdfast " + (version == null ? "(unpackaged)" : version),
            "Java " + System.getProperty("java.version") + " on " + System.getProperty("os.name")
        };
    }
}
