package dev.holdfast.buildrules;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.xpath.XPath;
import javax.xml.xpath.XPathConstants;
import javax.xml.xpath.XPathFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.NodeList;

/** The BOM has no parent, so that it exports our versions only; this test keeps the two in step instead. */
class BomTest {

    private final XPath xpath = XPathFactory.newInstance().newXPath();

    @Test
    void theBomHasTheVersionOfTheParent() throws Exception {
        assertThat(text("../bom/pom.xml", "/project/version")).isEqualTo(text("../pom.xml", "/project/version"));
    }

    @Test
    void theBomNamesEveryPublishedModule() throws Exception {
        List<String> published = new ArrayList<>();
        for (String module : texts("../pom.xml", "/project/modules/module")) {
            String pom = "../" + module + "/pom.xml";
            if (!module.equals("bom")
                    && !text(pom, "//*[local-name()='maven.deploy.skip']").equals("true")) {
                published.add(text(pom, "/project/artifactId"));
            }
        }
        assertThat(texts("../bom/pom.xml", "//dependency/artifactId")).containsExactlyInAnyOrderElementsOf(published);
    }

    private String text(String file, String path) throws Exception {
        return xpath.evaluate(path, parse(file));
    }

    private List<String> texts(String file, String path) throws Exception {
        NodeList nodes = (NodeList) xpath.evaluate(path, parse(file), XPathConstants.NODESET);
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < nodes.getLength(); i++) {
            texts.add(nodes.item(i).getTextContent());
        }
        return texts;
    }

    private static Document parse(String file) throws Exception {
        return DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new File(file));
    }
}
